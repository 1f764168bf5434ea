import { addTexts } from '../../../text/texts.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

/* Texts of the parts of a list that are loaded when they are first used. */
addTexts({ en, 'zh-CN': zhCN })
