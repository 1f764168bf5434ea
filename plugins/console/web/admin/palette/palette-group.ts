import type { PaletteEntry } from '../own/own-pages.ts'

/** What was found in one place. */
export interface PaletteGroup {
  readonly id: string
  readonly title: string
  readonly entries: readonly PaletteEntry[]
  /** Where all of it is shown, when there is more than is shown here. */
  readonly all?: string
}
