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
