import { errorTable } from '@plinth/kernel'

/** Every coded error of this plugin. */
export const i18nError = errorTable({
  PLINTH_I18N_DUPLICATE_MESSAGE: `Message keys are taken twice: {{clashes}}.
    Put the texts of a plugin under a name of its own, for example messages.<plugin id>.<path>.`,
})
