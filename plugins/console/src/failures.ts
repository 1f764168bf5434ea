import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('console', en.console, {
  'page-unknown': '404',
  'labels-unknown': '404',
  'chart-unknown': '404',
  'permission-missing': '403',
  'no-page': '403',
  'too-many-streams': '429',
  going: '503',
})
