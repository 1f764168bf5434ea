import { errorTable } from '@plinth/kernel'

/** All coded errors of this plugin. */
export const consoleError = errorTable({
  PLINTH_CONSOLE_AMOUNT_UNIT: `Amounts of pages have no unit, so that minor units would be shown as they are:{{columns}}
    Give each column exactly one of: \`currency\` (the member with the code), \`asset\` (a fixed code), \`decimals\` with \`symbol\`.`,
  PLINTH_CONSOLE_PAGE: `A page of the back office is not complete: {{problem}}.
    Correct the declaration of the page, or load the plugin that it refers to.`,
})
