export type { Address } from '../addresses.ts'
export type { Hex } from '../hex.ts'
