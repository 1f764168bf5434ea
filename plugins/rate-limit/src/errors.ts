import { errorTable } from '@plinth/kernel'

/** Every coded error of this plugin. */
export const rateLimitError = errorTable({
  PLINTH_RATE_LIMIT_DECLARATION: `The rate limit {{place}} cannot be used: {{reason}}.
    Correct the rateLimited() annotation, or the routeLimits.under() call, of that plugin.`,
  PLINTH_RATE_LIMIT_UNKNOWN_STORE: `{{place}} names the rate limit store "{{store}}", which no loaded plugin provides; loaded: {{loaded}}.{{nearest}}
    Add the plugin of that store to the product file, or name a store there that is loaded.`,
})
