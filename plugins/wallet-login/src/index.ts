export { default } from './plugin.ts'
export { type SiweContent, siweMessage } from './siwe-message.ts'
