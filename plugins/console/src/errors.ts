import { errorTable } from '@plinth/kernel'

/** All coded errors of this plugin. */
export const consoleError = errorTable({
  PLINTH_CONSOLE_AMOUNT_UNIT: `Some amount columns declare no unit, so the pages would show minor units:{{columns}}
    Set exactly one of these for each column: \`currency\` (the member that contains the code), \`asset\` (a fixed code), or \`decimals\` with \`symbol\`.`,
  PLINTH_CONSOLE_PAGE: `A page of the back office is incomplete: {{problem}}.
    Correct the declaration of the page, or load the plugin that it refers to.`,
})
