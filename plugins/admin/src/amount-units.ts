import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'

/** How amounts in one asset or currency are written: 1234 minor units of scale 2 as 12.34. */
export interface AmountUnit {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18. */
  readonly scale: number
  /** What stands beside the number, such as `USDT`; of a currency its ISO 4217 code. The name when absent. */
  readonly symbol?: string
}

/** Units by the code that rows name them with, contributed under any name. Read at use. */
export const amountUnits = extensionPoint<() => ReadonlyMap<string, AmountUnit>>('console.amount-units', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  shape: shape.function,
})
