/** Returns reproducible pseudo-random bytes (xorshift), so that two runs search for the same secrets. */
function drawer(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}

/** Returns API keys of 24 characters that do not occur in the texts below. */
export function apiKeys(count: number): readonly string[] {
  const draw = drawer(4711)
  const key = () => Buffer.from(Array.from({ length: 18 }, () => draw() & 0xff)).toString('base64url')
  return Array.from({ length: count }, key)
}

/** Returns log lines of the product as one string of this length. */
export function logText(length: number): string {
  const draw = drawer(815)
  let text = ''
  while (text.length < length) {
    const traceId = `0c0ffee0-1234-4567-89ab-${draw().toString(16).padStart(12, '0')}`
    const about = { level: 'info', time: `2026-11-22T06:00:00.${draw() % 1000}Z`, plugin: 'http', traceId }
    const what = { method: 'GET', path: `/api/v1/admin/notifications/${draw()}`, status: 200, durationMs: draw() / 1e9 }
    text += `${JSON.stringify({ ...about, ...what, msg: 'request' })}\n`
  }
  return Buffer.from(text.slice(0, length)).toString('latin1')
}
