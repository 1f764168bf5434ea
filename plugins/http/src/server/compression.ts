import { constants } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify'

/** A smaller body fits into one network packet, so that compression saves no time. */
const minBytes = 1_024
/** Up to this size a body is compressed in the event loop, in less than a millisecond; a larger one in the thread pool. */
const maxLoopBytes = 8 * 1_024
/** Each response that is being compressed needs up to 2 MiB. Further responses are sent uncompressed. */
const maxConcurrent = 64
/** Binary logarithm of the bytes that Brotli and Zstandard search for repetitions: 256 KiB. */
const windowBits = 18

const settings: Parameters<typeof compress>[1] = {
  globalDecompression: false,
  encodings: ['zstd', 'br', 'gzip'],
  threshold: minBytes,
  syncThreshold: maxLoopBytes,
  customTypes: /^text\/|[+/](?:json|xml)(?:;|$)/,
  brotliOptions: {
    params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: windowBits },
  },
  // gzip ignores `params`, and Zstandard uses nothing else.
  zlibOptions: { params: { [constants.ZSTD_c_windowLog]: windowBits } } as object,
}

/**
 * The library sends a body that begins like a zlib stream as if it were compressed. Plain text may begin like this, for
 * example with "80". Streams of the types below cannot. All other streams stay as they are, for example server-sent
 * events, whose messages compression would delay.
 */
const compressibleStream = /^(?:application|image|text)\/(?:[\w.-]+\+)?(?:html|json|xml)(?:;|$)/i
const zlibMethod = 8

function isCompressible(reply: FastifyReply, payload: unknown): boolean {
  if (/\bno-transform\b/i.test(String(reply.getHeader('cache-control')))) return false
  const first = typeof payload === 'string' ? payload.charCodeAt(0) : Buffer.isBuffer(payload) ? payload[0] : undefined
  if (first !== undefined) return (first & 0x0f) !== zlibMethod
  return compressibleStream.test(String(reply.getHeader('content-type')))
}

const isStream = (payload: unknown): payload is NodeJS.EventEmitter =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload

/**
 * Compresses responses for callers that accept it, except those of routes with `compress: false`.
 *
 * @param isOn called for each response
 */
export async function compressResponses(app: FastifyInstance, isOn: () => boolean): Promise<void> {
  let running = 0
  const before: onSendHookHandler = (request, reply, payload, done) => {
    const isLeft = payload != null && (!isOn() || running >= maxConcurrent || !isCompressible(reply, payload))
    // The documented way to switch the library off for one response.
    if (isLeft) request.headers = { 'x-no-compression': 'server' }
    done()
  }
  const after: onSendHookHandler = (request, reply, payload, done) => {
    if (isOn()) describeVariant(request.method === 'HEAD' && request.headers['accept-encoding'] !== undefined, reply)
    if (isStream(payload) && reply.hasHeader('content-encoding')) {
      running++
      payload.once('close', () => {
        running--
      })
    }
    done()
  }
  const add = (hook: onSendHookHandler) =>
    app.addHook('onRoute', (route) => {
      if (route.compress !== false) route.onSend = [...[route.onSend ?? []].flat(), hook]
    })
  add(before)
  await app.register(compress, settings)
  add(after)
}

/**
 * A strong `ETag` would promise equal bytes, but the bytes depend on the encoding (RFC 9110, section 8.8.1). `HEAD` must
 * not announce a length that differs from that of `GET` (section 8.6), which is only known after compression.
 */
function describeVariant(hasUnknownLength: boolean, reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', `W/${tag}`)
  if (hasUnknownLength) reply.removeHeader('content-length').header('vary', 'accept-encoding')
}
