import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('approval', en.approval, {
  'workflow-unknown': '404',
  'action-unknown': '400',
  'state-not-allowed': '409',
  'permission-missing': '403',
})
