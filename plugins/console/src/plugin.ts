import { fileURLToPath } from 'node:url'
import { definePlugin } from '@plinth/kernel'
import { builtPage } from './built-page.ts'
import { builtPages, installPage } from './contract.ts'
import { businessError } from './declarations.ts'
import { PageBuild } from './page-build.ts'
import { pagePathsOf } from './page-source.ts'

/** Plugin that builds and serves the browser pages of the product. The pages use only the HTTP API. */
export default definePlugin({
  id: 'console',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  provides: [installPage, builtPages],
  setup({ clock, log, roles, provide, onReady, onStop }) {
    const places = pagePathsOf(fileURLToPath(new URL('..', import.meta.url)))
    const build = new PageBuild(places, { clock, log })
    const page = (name: string) => builtPage(places, build, name)
    provide(installPage, page('install'))
    provide(builtPages, { page })
    // The build starts after the product is ready, because it takes several seconds and no other code depends on it.
    onReady(() => {
      if (roles.has('web')) build.start()
    })
    onStop(() => build.stop())
  },
})
