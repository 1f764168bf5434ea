import { defineBusinessErrors, errorTable } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('console', en.console, {
  'page-unknown': '404',
  'labels-unknown': '404',
  'attention-partial': '403',
  'attention-unknown': '404',
  'chart-unknown': '404',
  'import-amount': '400',
  'import-cells': '400',
  'import-columns': '400',
  'import-empty': '400',
  'import-encoding': '400',
  'import-missing': '400',
  'import-name': '400',
  'import-quote': '400',
  'import-too-long': '400',
  'import-twice': '400',
  'permission-missing': '403',
  'no-page': '403',
  'snooze-too-long': '400',
  'too-many-streams': '429',
  'view-name-blank': '400',
  'view-role-unknown': '404',
  'view-unknown': '404',
  'views-full': '409',
  going: '503',
})

/** All coded errors of this plugin. */
export const consoleError = errorTable({
  PLINTH_CONSOLE_AMOUNT_UNIT: `Some amount columns declare no unit, so the pages would show minor units:{{columns}}
    Set exactly one of these for each column: \`currency\` (the member that contains the code), \`asset\` (a fixed code), or \`decimals\` with \`symbol\`.`,
  PLINTH_CONSOLE_PAGE: `A page of the back office is incomplete: {{problem}}.
    Correct the declaration of the page, or load the plugin that it refers to.`,
})
