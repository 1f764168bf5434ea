import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('template', en.template, {
  unknown: '404',
  taken: '409',
  'version-conflict': '409',
  'locale-invalid': '400',
  'html-format': '400',
  'source-refused': '400',
  'compile-timeout': '400',
  'compiler-busy': '503',
  'value-refused': '400',
  'output-too-large': '400',
})
