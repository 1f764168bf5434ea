import type { LedgerAsset } from '../contract.ts'
import { businessError } from '../declarations.ts'

/**
 * A quarter of an hour in milliseconds. Every time zone offset is a multiple of it, so a quarter never spans two
 * months.
 */
const quarterOfAnHour = 900_000

/** Computes month keys. Caches the last one, because formatting is slow and most postings are close in time. */
class MonthKeys {
  #format: { readonly zone: string; readonly parts: Intl.DateTimeFormat } | undefined
  #last: { readonly zone: string; readonly quarter: number; readonly key: number } | undefined

  /** Returns the year times 100 plus the month, such as `202611`. */
  at(ms: number, zone: string): number {
    const quarter = Math.floor(ms / quarterOfAnHour)
    if (this.#last?.quarter === quarter && this.#last.zone === zone) return this.#last.key
    if (this.#format?.zone !== zone) {
      const parts = new Intl.DateTimeFormat('en', {
        year: 'numeric',
        month: 'numeric',
        calendar: 'iso8601',
        timeZone: zone,
      })
      this.#format = { zone, parts }
    }
    const parts = this.#format.parts.formatToParts(ms)
    const of = (name: Intl.DateTimeFormatPartTypes) => Number(parts.find(({ type }) => type === name)?.value)
    const key = of('year') * 100 + of('month')
    this.#last = { zone, quarter, key }
    return key
  }
}

export class Assets {
  readonly #brought: ReadonlyMap<string, LedgerAsset>
  readonly #siteZone: () => string
  readonly #months = new MonthKeys()

  constructor(brought: ReadonlyMap<string, LedgerAsset>, siteZone: () => string) {
    this.#brought = brought
    this.#siteZone = siteZone
  }

  get all(): ReadonlyMap<string, LedgerAsset> {
    return this.#brought
  }

  /** @throws BusinessError `400` `money.asset-unknown` */
  get(asset: string): LedgerAsset {
    const found = this.#brought.get(asset)
    if (found === undefined)
      throw businessError('asset-unknown', { params: { asset }, data: { asset, field: 'asset' } })
    return found
  }

  find(asset: string): LedgerAsset | undefined {
    return this.#brought.get(asset)
  }

  monthKeyOf(asset: string, at: number): number {
    return this.#months.at(at, this.get(asset).monthZone?.() ?? this.#siteZone())
  }
}
