import { constants } from 'node:zlib'
import compress from '@fastify/compress'
import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify'

/**
 * Minimum size in bytes of a body that is compressed. A smaller body fits into one network packet, so compression saves
 * no time.
 */
const minBytes = 1_024
/**
 * Maximum size of a body that is compressed in the event loop, which takes less than a millisecond. Larger bodies are
 * compressed in the thread pool.
 */
const maxLoopBytes = 8 * 1_024
/**
 * Maximum number of responses that are compressed at the same time. Each needs up to 2 MiB of memory. Further responses
 * are sent uncompressed.
 */
const maxConcurrent = 64
/** Binary logarithm of the window (256 KiB) in which Brotli and Zstandard search for repetitions. */
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
  // This is the window of Zstandard, which reads no other option. gzip ignores `params`.
  zlibOptions: { params: { [constants.ZSTD_c_windowLog]: windowBits } } as object,
}

/**
 * Matches the content types of streams that are compressed. The library treats data that starts like a zlib stream as
 * already compressed. Text can start like this, for example with "80", but HTML, JSON and XML cannot. Other streams,
 * such as server-sent events, would be delayed by compression.
 */
const compressibleStream = /^(?:application|image|text)\/(?:[\w.-]+\+)?(?:html|json|xml)(?:;|$)/i
const zlibMethod = 8

function isCompressible(reply: FastifyReply, payload: unknown): boolean {
  if (/\bno-transform\b/i.test(String(reply.getHeader('cache-control')))) return false
  const first = typeof payload === 'string' ? payload.charCodeAt(0) : Buffer.isBuffer(payload) ? payload[0] : undefined
  if (first !== undefined) return (first & 0x0f) !== zlibMethod
  return compressibleStream.test(String(reply.getHeader('content-type')))
}

/** Returns true for a body that the library leaves as it is, because it is shorter than its threshold. */
const isShort = (payload: unknown) =>
  (typeof payload === 'string' || Buffer.isBuffer(payload)) && Buffer.byteLength(payload) < minBytes

const isStream = (payload: unknown): payload is NodeJS.EventEmitter =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload

/**
 * Compresses the responses to callers that accept it, except on routes with `compress: false`.
 *
 * @param isOn called for each response
 */
export async function compressResponses(app: FastifyInstance, isOn: () => boolean): Promise<void> {
  let running = 0
  const before: onSendHookHandler = (request, reply, payload, done) => {
    const isLeft =
      payload != null && !isShort(payload) && (!isOn() || running >= maxConcurrent || !isCompressible(reply, payload))
    // This header is the documented way to disable the library for one response.
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
 * Adapts headers to the encoding. A strong `ETag` would promise equal bytes, but the bytes depend on the encoding (RFC
 * 9110, section 8.8.1). A response to `HEAD` must not announce another length than `GET` (section 8.6), and this length
 * is only known after compression.
 */
function describeVariant(hasUnknownLength: boolean, reply: FastifyReply): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string' && tag.startsWith('"')) reply.header('etag', `W/${tag}`)
  if (hasUnknownLength) reply.removeHeader('content-length').header('vary', 'accept-encoding')
}
