export { type SiweContent, siweMessage } from './challenges.ts'
export { default } from './plugin.ts'
