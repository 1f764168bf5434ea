import { i18n } from '@plinth/i18n'
import { kernel, optional } from '@plinth/kernel'

/** Services that the plugin uses. */
export const requires = { kernel, i18n: optional(i18n) } as const
