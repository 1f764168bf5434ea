import type { Clock } from '@plinth/kernel'
import type { Caller } from './caller.ts'
import type { InstallConfig } from './config.ts'
import { installPath, type StatusView } from './contract.ts'
import type { EntryCheck } from './entry-check.ts'
import { ownPath } from './own-path.ts'
import type { ProductEntries } from './product-entries.ts'
import type { InstallState, Reading } from './state.ts'

export interface StatusParts {
  readonly config: InstallConfig
  readonly state: InstallState
  readonly entry: EntryCheck
  readonly entries: ProductEntries
  readonly clock: Pick<Clock, 'now'>
}

/** The status snapshot. */
export class Status {
  readonly #parts: StatusParts

  constructor(parts: StatusParts) {
    this.#parts = parts
  }

  /** As one caller of the install entry sees it: under a foreign host nothing may be entered. */
  async forCaller(caller: Caller, seen?: Reading): Promise<StatusView> {
    const view = await this.snapshot(caller.prefix, seen)
    return { ...view, installAllowed: view.installAllowed && this.#parts.entry.closedTo(caller) !== 'host' }
  }

  /** @param prefix of the request under a context path */
  async snapshot(prefix: string, seen?: Reading): Promise<StatusView> {
    const { config, state, entry, entries, clock } = this.#parts
    const reading = seen ?? (await state.read())
    const isInstalled = reading.name !== 'not-installed'
    return {
      enabled: config.get('platform.install.enabled'),
      mode: config.get('platform.install.mode'),
      installed: isInstalled,
      installAllowed: entry.closedToAll(reading) === undefined,
      allowReinstall: config.get('platform.install.allow-reinstall'),
      locked: isInstalled,
      installPath,
      productPath: this.productPath(prefix),
      rootRouteMode: config.get('platform.install.root-route.mode'),
      rootRouteTarget: config.get('platform.install.root-route.target'),
      // Before, pages may lead to the installation instead.
      entries: isInstalled ? await entries.list() : [],
      snapshotAt: new Date(clock.now()).toISOString(),
    }
  }

  /** Entry of the product. It leads to this product, whatever is configured. */
  productPath(prefix: string): string {
    return prefix + ownPath(this.#parts.config.get('platform.view.root.target'))
  }
}
