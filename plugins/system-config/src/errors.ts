import { errorTable } from '@plinth/kernel'

/** Every coded error of this plugin. */
export const systemConfigError = errorTable({
  PLINTH_SYSTEM_CONFIG_REFUSED: `{{reason}}
    {{fix}}`,
})
