import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { Api } from '../api/call.ts'
import type { OwnPageView } from '../api/page-types.ts'

/** A place within a page that is found by its name in the palette. */
export interface PaletteEntry {
  readonly id: string
  readonly label: string
  readonly description: string
  /** Address below the back office. */
  readonly href: string
}

/** What a page offers to the palette; asked for when somebody looks for something. */
export type PaletteSource = (api: Api, page: OwnPageView, signal: AbortSignal) => Promise<readonly PaletteEntry[]>

interface OwnPage {
  readonly view: LazyExoticComponent<ComponentType<{ readonly page: OwnPageView }>>
  readonly palette?: () => Promise<{ readonly default: PaletteSource }>
}

/** Pages by hand, a script each that is loaded when it is opened; who may see them says `src/admin/own-pages.ts`. */
export const ownPages: Readonly<Record<string, OwnPage>> = {
  'system-config.centre': {
    view: lazy(() => import('./config-centre/config-centre.tsx')),
    palette: () => import('./config-centre/palette.ts'),
  },
  'console.plugins': { view: lazy(() => import('./product-plugins/plugins-page.tsx')) },
  'iam.role-matrix': { view: lazy(() => import('./role-matrix/role-matrix.tsx')) },
}
