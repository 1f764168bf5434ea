/** Returns a time of a clock for people, for example `2026-11-27 18:22:18 UTC`. */
export const utcText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
