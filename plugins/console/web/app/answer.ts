/** What the product puts around every answer. */
interface Envelope {
  readonly code: string
  readonly message: string
  readonly data: unknown
}

/** `undefined` for what is none: a proxy may answer in place of the product. */
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
 * A value of an enum of the server, or the fallback when it is one that this page does not know: a newer server may have
 * more of them (document 1, "Versioning").
 */
export function known<const Value extends string>(
  values: readonly Value[],
  value: string,
  fallback: NoInfer<Value>,
): Value {
  return values.find((candidate) => candidate === value) ?? fallback
}
