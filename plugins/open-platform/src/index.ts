export {
  canonicalQuery,
  canonicalRequest,
  type RequestToSign,
  signatureHeaders,
  signatureOf,
  timestampToleranceMs,
} from './canonical-request.ts'
export * from './contract.ts'
export { default } from './plugin.ts'
export { requireOpenCaller } from './signature-guards.ts'
