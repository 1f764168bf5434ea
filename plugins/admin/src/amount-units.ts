import { extensionPoint, type LocalizedText, shape } from '@plinth/kernel'

/** Unit of amounts in one asset or currency. 1234 minor units of scale 2 are shown as 12.34. */
export interface AmountUnit {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18. */
  readonly scale: number
  /** Symbol next to the number, such as `USDT`; for a currency its ISO 4217 code. Default: the name. */
  readonly symbol?: string
}

/** Units by the code that rows use, contributed under any name. Read on use. */
export const amountUnits = extensionPoint<() => ReadonlyMap<string, AmountUnit>>('console.amount-units', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  shape: shape.function,
})
