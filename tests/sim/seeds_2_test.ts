import { testShard } from "./seeds.ts";

testShard(1);
