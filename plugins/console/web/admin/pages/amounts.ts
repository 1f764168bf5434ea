import type { AmountUnit, Column, Write } from '../api/page-types.ts'
import { type Row, valueAt } from '../api/row-values.ts'

/* Amounts are integers in minor units of any size. Forms pass them as text and never convert them to numbers. */

/** Returns the unit of an asset or a currency; `undefined` if it is unknown. */
export function unitOf(units: Readonly<Record<string, AmountUnit>>, code: unknown): AmountUnit | undefined {
  if (typeof code !== 'string') return undefined
  return Object.hasOwn(units, code) ? units[code] : currencyUnit(code)
}

/** Returns the unit of an amount column. If the unit is unknown, returns the code. */
export function unitOfColumn(
  { currency, asset, decimals, symbol }: Column,
  units: Readonly<Record<string, AmountUnit>>,
  row: Row,
): { readonly unit: AmountUnit | undefined; readonly code: string } {
  const named = symbol === undefined ? (asset ?? valueAt(row, currency ?? '')) : valueAt(row, symbol)
  const code = typeof named === 'string' ? named : ''
  const scale = decimals === undefined ? undefined : valueAt(row, decimals)
  if (decimals === undefined) return { unit: unitOf(units, code), code }
  return { unit: typeof scale === 'number' ? { displayName: code, symbol: code, scale } : undefined, code }
}

let currencies: ReadonlySet<string> | undefined
/** Reads the list of currencies once, because reading it takes milliseconds. */
function isCurrency(code: string): boolean {
  currencies ??= new Set(Intl.supportedValuesOf('currency'))
  return currencies.has(code)
}

/** Returns the unit of a currency. Names of ledger assets are in lower case, but ISO 4217 codes are in upper case. */
function currencyUnit(name: string): AmountUnit | undefined {
  const code = name.toUpperCase()
  if (!isCurrency(code)) return undefined
  const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency: code }).resolvedOptions()
  return { displayName: code, symbol: code, scale: maximumFractionDigits ?? 2 }
}

/** Returns the ISO 4217 code of a unit, if it is a currency. */
const currencyOf = ({ symbol = '' }: AmountUnit): string | undefined => (isCurrency(symbol) ? symbol : undefined)

/**
 * Converts minor units to decimal text: `1234` with scale 2 becomes `12.34`. Returns `undefined` if the text is not an
 * integer.
 */
export function decimalOf(minor: string, scale: number): string | undefined {
  if (!/^-?\d+$/.test(minor)) return undefined
  const units = BigInt(minor)
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${units < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`
}

/**
 * Minimum number of decimal places. Trailing zeros after them are omitted, because some units have very many places.
 */
const minDecimals = 2

/**
 * Formats an amount in the language of the user, for example `1,234.50 g`. Without a unit, the number is not scaled.
 */
export function amountText(minor: string, unit: AmountUnit | undefined, language: string): string {
  const text = decimalOf(minor, unit?.scale ?? 0)
  if (text === undefined) return minor
  const scale = unit?.scale ?? 0
  const digits = { minimumFractionDigits: Math.min(scale, minDecimals), maximumFractionDigits: scale }
  const currency = unit && currencyOf(unit)
  const style = currency === undefined ? {} : ({ style: 'currency', currency } as const)
  // The number is passed as text, because it may have more digits than a JavaScript number.
  const shown = new Intl.NumberFormat(language, { ...digits, ...style }).format(text as Intl.StringNumericLiteral)
  return unit === undefined || currency !== undefined ? shown : `${shown} ${unit.symbol ?? unit.displayName}`
}

const decimal = /^(-?)(\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d*))?$/

/**
 * Converts a typed amount such as `12.34` or `1,234.5` to minor units. Returns `undefined` if the text is not a number
 * or has too many decimal places.
 */
export function parseMinorUnits(text: string, scale: number): string | undefined {
  const [, sign, whole, part = ''] = decimal.exec(text.trim()) ?? []
  const kept = part.replace(/0+$/, '')
  if (whole === undefined || kept.length > scale) return undefined
  return String(BigInt(`${sign}${whole.replaceAll(',', '')}${kept.padEnd(scale, '0')}`))
}

/**
 * Returns the unit of an amount that the user types. The declaration of the form, another member of the request or the
 * row determines the unit.
 */
export function unitTyped(
  amount: NonNullable<Write['amounts']>[string] | undefined,
  units: Readonly<Record<string, AmountUnit>>,
  values: Readonly<Record<string, unknown>>,
  row: Row,
): AmountUnit | undefined {
  if (amount === undefined) return undefined
  return unitOf(units, 'unit' in amount ? amount.unit : (values[amount.field] ?? valueAt(row, amount.field)))
}
