import { type ConfigView, definePlugin, kernel } from '@plinth/kernel'
import { keys } from './config.ts'
import { type Site, site } from './contract.ts'
import { localDays } from './local-days.ts'

/** Name, address and time zone of the site. */
export default definePlugin({
  id: 'site',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel },
  provides: [site],
  config: keys,
  configGroups: { site: { en: 'Site', 'zh-CN': '站点' } },
  setup({ services, config, provide }) {
    provide(site, createSite(config, services.kernel.product.name))
  },
})

function createSite(config: ConfigView<typeof keys>, productName: string): Site {
  return {
    get isNamed() {
      return config.get('platform.site.name') !== ''
    },
    get name() {
      return config.get('platform.site.name') || productName
    },
    get title() {
      return config.get('platform.site.title') || this.name
    },
    get url() {
      return config.get('platform.site.url').replace(/\/+$/, '')
    },
    get timeZone() {
      return config.get('platform.site.time-zone')
    },
    dayOf: localDays(() => config.get('platform.site.time-zone')),
  }
}
