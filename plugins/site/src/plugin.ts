import { type ConfigView, definePlugin, kernel } from '@plinth/kernel'
import { keys } from './config.ts'
import { type Site, site } from './contract.ts'

/** Provides name, address and time zone of the site. */
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
    dayOf: createDayFormatter(() => config.get('platform.site.time-zone')),
  }
}

/**
 * Returns a function that converts a time to its day, as `YYYY-MM-DD`. The formatter is cached, because creating it
 * takes hundreds of times as long as using it.
 *
 * @param zone returns the current time zone, as a name in the IANA database
 */
export function createDayFormatter(zone: () => string): (moment: Date) => string {
  let days: { readonly zone: string; readonly format: Intl.DateTimeFormat } | undefined
  return (moment) => {
    const timeZone = zone()
    if (days?.zone !== timeZone) {
      const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
      days = { zone: timeZone, format: new Intl.DateTimeFormat('en', { ...parts, calendar: 'iso8601', timeZone }) }
    }
    const parts = days.format.formatToParts(moment)
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.find(({ type }) => type === name)?.value ?? ''
    return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`
  }
}
