import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { Api } from '../api/call.ts'
import type { OwnPageView } from '../api/page-types.ts'
import { usePage } from '../api/use-page.ts'
import { LoadState } from '../pages/load-state.tsx'

/** An entry within a page that the command palette finds by name. */
export interface PaletteEntry {
  readonly id: string
  readonly label: string
  readonly description: string
  /** Address of the entry, relative to the back office. */
  readonly href: string
}

/** Returns the palette entries of a page. It is called when the user searches. */
export type PaletteSource = (api: Api, page: OwnPageView, signal: AbortSignal) => Promise<readonly PaletteEntry[]>

interface OwnPageScripts {
  readonly view: LazyExoticComponent<ComponentType<{ readonly page: OwnPageView }>>
  readonly palette?: () => Promise<{ readonly default: PaletteSource }>
}

/**
 * Scripts of the custom pages. A script is loaded when the user opens its page. `src/admin/own-pages.ts` defines who
 * may see each page.
 */
export const ownPages: Readonly<Record<string, OwnPageScripts>> = {
  'system-config.centre': {
    view: lazy(() => import('./config-centre/config-centre.tsx')),
    palette: () => import('./config-centre/palette.ts'),
  },
  'console.plugins': { view: lazy(() => import('./product-plugins/plugins-page.tsx')) },
  'notification.compose': { view: lazy(() => import('./compose/compose-page.tsx')) },
  'authenticators.security': { view: lazy(() => import('./security/security-page.tsx')) },
  'iam.role-matrix': { view: lazy(() => import('./role-matrix/role-matrix.tsx')) },
}

/** Shows a custom page and passes it the operations that the user may call. */
export function OwnPage({ id }: { readonly id: string }) {
  const page = usePage<OwnPageView>(id)
  const View = ownPages[id]?.view
  if (View !== undefined && page.data !== undefined) return <View page={page.data} />
  return <LoadState of={page} isPage />
}
