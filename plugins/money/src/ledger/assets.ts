import type { LedgerAsset } from '../contract.ts'
import { refusal } from '../failures.ts'
import { MonthKeys } from './month-keys.ts'

/** What may be posted, by the plugins that bring it. */
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
    if (found === undefined) throw refusal('asset-unknown', { params: { asset }, data: { asset, field: 'asset' } })
    return found
  }

  find(asset: string): LedgerAsset | undefined {
    return this.#brought.get(asset)
  }

  /** In the time zone that counts the months of the asset. */
  monthKeyOf(asset: string, at: number): number {
    return this.#months.at(at, this.get(asset).monthZone?.() ?? this.#siteZone())
  }
}
