export * from './contract.ts'
export { default } from './plugin.ts'
export {
  canonicalQuery,
  canonicalRequest,
  type RequestToSign,
  signatureHeaders,
  signatureOf,
  timestampToleranceMs,
} from './signature/canonical-request.ts'
export { requireOpenCaller } from './signature/signature-guards.ts'
