export { default } from './plugin.ts'
export { signedHeaders } from './signature.ts'
