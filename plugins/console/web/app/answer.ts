/** The envelope of every response of the API. */
interface Envelope {
  readonly code: string
  readonly message: string
  readonly data: unknown
}

/**
 * Parses the envelope of a response. Returns `undefined` if the body is not an envelope, because a proxy may respond
 * instead of the product.
 */
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
 * Returns a value of an enum, or the fallback if this page does not know the value. A newer server may send values that
 * did not exist when this page was built.
 */
export function knownValueOr<const Value extends string>(
  values: readonly Value[],
  value: string,
  fallback: NoInfer<Value>,
): Value {
  return values.find((candidate) => candidate === value) ?? fallback
}
