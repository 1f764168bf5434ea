/** The envelope of every response of the product. */
interface Envelope {
  readonly code: string
  readonly message: string
  readonly data: unknown
}

/** Returns `undefined` for another body, because a proxy may respond instead of the product. */
export async function envelopeOf(response: Response): Promise<Envelope | undefined> {
  try {
    const body: unknown = await response.json()
    const isEnvelope = typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string'
    return isEnvelope ? (body as Envelope) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns an enum value of the server, or the fallback if this page does not know it: a newer server may have more
 * values (document 1, "Versioning").
 */
export function known<const Value extends string>(
  values: readonly Value[],
  value: string,
  fallback: NoInfer<Value>,
): Value {
  return values.find((candidate) => candidate === value) ?? fallback
}
