import { definePlugin, kernel } from '@plinth/kernel'
import { keys } from './config.ts'
import { i18n } from './contract.ts'
import { createTranslator, joinCatalogues } from './translator.ts'

/** Translates the texts that plugins declare in `messages`. Without this plugin, users see the English texts. */
export default definePlugin({
  id: 'i18n',
  version: '1.0.0',
  kernel: '^1.0.0',
  implements: ['messages'],
  requires: { kernel },
  provides: [i18n],
  config: keys,
  configGroups: { i18n: { en: 'Languages', 'zh-CN': '语言' } },
  setup({ services, config, provide }) {
    let site = config.get('platform.i18n.default-locale')
    config.onChange('platform.i18n.default-locale', (locale) => {
      site = locale
    })
    provide(
      i18n,
      createTranslator(joinCatalogues(services.kernel.plugins), () => site),
    )
  },
})
