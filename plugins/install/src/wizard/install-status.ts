import { type EntryName, installPath, type StatusView } from '../contract.ts'
import type { Caller } from '../entry/caller.ts'
import type { EntryPolicy } from '../entry/entry-policy.ts'
import type { ProductPages } from '../pages/product-pages.ts'
import type { InstallServices } from '../requires.ts'
import { type InstallState, type InstallStateReading, isInstalled } from '../state/install-state.ts'

type InstallStatusDependencies = Pick<InstallServices, 'config' | 'clock'> & {
  readonly state: InstallState
  readonly entry: EntryPolicy
  readonly productPages: ProductPages
}

export class InstallStatus {
  readonly #parts: InstallStatusDependencies

  constructor(parts: InstallStatusDependencies) {
    this.#parts = parts
  }

  /** Returns the status for one caller. If the host is not trusted, `installAllowed` is false. */
  async forCaller(caller: Caller, seen?: InstallStateReading): Promise<StatusView> {
    const view = await this.snapshot(caller.prefix, seen)
    return { ...view, installAllowed: view.installAllowed && this.#parts.entry.closedTo(caller) !== 'host' }
  }

  /** @param prefix path prefix of the request */
  async snapshot(prefix: string, seen?: InstallStateReading): Promise<StatusView> {
    const { config, state, entry, clock } = this.#parts
    const reading = seen ?? (await state.read())
    return {
      enabled: config.get('platform.install.enabled'),
      mode: config.get('platform.install.mode'),
      installed: isInstalled(reading),
      installAllowed: entry.closedToAll(reading) === undefined,
      allowReinstall: config.get('platform.install.allow-reinstall'),
      locked: isInstalled(reading),
      installPath,
      productPath: this.productPath(prefix),
      rootRouteMode: config.get('platform.install.root-route.mode'),
      rootRouteTarget: config.get('platform.install.root-route.target'),
      snapshotAt: new Date(clock.now()).toISOString(),
    }
  }

  /** Returns the pages of the product. Empty before the installation, because pages may redirect to the installer. */
  async entries(): Promise<EntryName[]> {
    const { state, productPages } = this.#parts
    return isInstalled(await state.read()) ? productPages.list() : []
  }

  productPath(prefix: string): string {
    return prefix + this.#parts.productPages.entry
  }
}
