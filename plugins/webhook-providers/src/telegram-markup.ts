import { asPlainText } from '@plinth/notification-channels/webhook'
import { telegramHtml, telegramMarkdown, telegramMarkdownV2 } from './plain-texts.ts'

/** A markup of Telegram: how a title stands in bold in it, and what somebody reads in a text of it. */
interface Markup {
  bold(text: string): string
  plain(text: string): string
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' }
const tags = /<\/?(?:b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|tg-emoji|code|pre|blockquote|a)(?:\s[^<>]*)?>/gi

function plainHtml(text: string): string {
  const linked = text.replace(/<a\s[^<>]*?href=["']([^<>"']*)["'][^<>]*>([^<>]*)<\/a>/gi, '$2 ($1)')
  return linked.replace(tags, '').replace(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '')
}

/** The marks in pairs, the longer ones first: a part of them alone would be left over. */
const pairs: readonly RegExp[] = [
  /\|\|((?:\\.|[^|\\])+)\|\|/g,
  /(?<!\w)__((?:\\.|[^_\\])+)__(?!\w)/g,
  /\*((?:\\.|[^*\\])+)\*/g,
  /(?<!\w)_((?:\\.|[^_\\])+)_(?!\w)/g,
  /~((?:\\.|[^~\\])+)~/g,
]
const legacyPairs = [/\*((?:\\.|[^*\\])+)\*/g, /(?<!\w)_((?:\\.|[^_\\])+)_(?!\w)/g]
const link = /\[([^[\]\n]{0,512})\]\(([^()\s]{0,2048})\)/g

/** What stands in code is taken as it is. Marks without a partner belong to the text. */
function plainMarkdown(text: string, marks: readonly RegExp[], escaped: RegExp): string {
  const parts = text.split(/(```[^`]*```|`[^`\n]*`)/)
  const shown = parts.map((part, index) => {
    if (index % 2 === 1) return part.replace(/^(?:```(?:[\w-]*\n)?|`)|(?:```|`)$/g, '')
    const linked = part.replace(link, '$1 ($2)')
    return marks.reduce((left, mark) => left.replace(mark, '$1'), linked).replace(escaped, '$1')
  })
  return shown.join('')
}

/** By the value of `parse_mode`. */
export const markups: Readonly<Record<string, Markup>> = {
  HTML: { bold: (text) => `<b>${asPlainText(text, telegramHtml)}</b>`, plain: plainHtml },
  MarkdownV2: {
    bold: (text) => `*${asPlainText(text, telegramMarkdownV2)}*`,
    plain: (text) => plainMarkdown(text, pairs, /\\([_*[\]()~`>#+\-=|{}.!\\])/g),
  },
  Markdown: {
    bold: (text) => `*${asPlainText(text, telegramMarkdown)}*`,
    plain: (text) => plainMarkdown(text, legacyPairs, /\\([_*`[])/g),
  },
}
