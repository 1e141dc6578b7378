/** Types of what we use of `@std/fmt/colors`, whose npm build carries none. */

/** Bold text for a terminal. */
export function bold(text: string): string;
/** Cyan text for a terminal. */
export function cyan(text: string): string;
/** Faint text for a terminal. */
export function dim(text: string): string;
/** Green text for a terminal. */
export function green(text: string): string;
/** Red text for a terminal. */
export function red(text: string): string;
/** Yellow text for a terminal. */
export function yellow(text: string): string;
