import { type HttpServer, htmlText, pageNonce, rateLimited, sendPage } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Identity } from '@plinth/iam'
import { bilingual, errorReason, isBusinessError, type LocalizedText, localize } from '@plinth/kernel'
import type { PreferenceTerms } from './categories.ts'
import { preferencePagePath, type SignedPreferenceLinks } from './links.ts'
import type { CellState, PreferenceMatrix } from './preference-matrix.ts'

interface PageDependencies {
  readonly matrix: Pick<PreferenceMatrix, 'cells' | 'saveCells'>
  readonly terms: PreferenceTerms
  readonly links: Pick<SignedPreferenceLinks, 'userOf'>
  readonly identity: Pick<Identity, 'principalOf'>
  readonly translator: Pick<Translator, 'negotiate'> | undefined
  readonly log: { error(about: object, text: string): void }
}

/** Maximum size of the form in bytes. */
const maxFormBytes = 65_536

export const preferencePageLimit = rateLimited({ maxAttempts: 120, windowSeconds: 60, keyStrategy: 'IP_ROUTE' })

const texts = {
  title: bilingual('Notification preferences', '通知偏好'),
  lead: bilingual('Choose which messages you get, and where.', '选择接收哪些消息，以及通过哪些渠道接收。'),
  category: bilingual('Message type', '消息类型'),
  save: bilingual('Save', '保存'),
  saved: bilingual('Your preferences are saved.', '偏好已保存。'),
  fixed: bilingual('Greyed out: these messages cannot be switched off.', '灰色选项不可更改。'),
  invalid: bilingual(
    'This link is not valid or has expired. Open the link in a newer message.',
    '链接无效或已过期，请打开较新消息中的链接。',
  ),
  later: bilingual('Please try again later.', '请稍后再试。'),
  language: bilingual('中文', 'English'),
} satisfies Readonly<Record<string, LocalizedText>>

const style = `body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1a1a1a;background:#fff}
main{max-width:44rem;margin:0 auto;padding:1rem}
table{border-collapse:collapse;width:100%}
th,td{padding:.5rem .125rem;overflow-wrap:anywhere;border-bottom:1px solid #ccc;text-align:center}
th:first-child{text-align:start}
thead th{font-size:.875rem}
label{display:inline-block;padding:.5rem}
input{width:1.25rem;height:1.25rem;margin:0}
button{font:inherit;padding:.75rem 1.5rem;margin-top:1rem;border:0;border-radius:.25rem;background:#0b57d0;color:#fff}
a{color:#0b57d0}
[role=status]{padding:.75rem;background:#e6f4ea}`

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>
type PageReply = Parameters<typeof sendPage>[0]

/** The page on which the user of a link sees and changes the matrix. Works without scripts. */
export function preferencePage({ matrix, terms, links, identity, translator, log }: PageDependencies): Register {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: maxFormBytes },
      (_request, body, done) => done(null, body),
    )
    type Query = { Querystring: { token?: unknown; lang?: unknown } }
    type Asked = { query: Query['Querystring']; headers: { 'accept-language'?: string | undefined } }
    const localeOf = ({ query, headers }: Asked) => {
      const wanted = typeof query.lang === 'string' ? query.lang : headers['accept-language']
      return translator?.negotiate(wanted) ?? 'en'
    }
    const send = (reply: PageReply, status: number, locale: string, body: string) => {
      const nonce = pageNonce(reply)
      return sendPage(
        reply.code(status).header('referrer-policy', 'no-referrer'),
        documentOf(localize(texts.title, locale), locale, nonce, body),
      )
    }
    const sentence = (text: LocalizedText, locale: string) => `<p>${htmlText(localize(text, locale))}</p>`
    app.setErrorHandler(async (error, request, reply) => {
      if (!isBusinessError(error) || error.code !== '429') throw error
      const locale = localeOf(request as unknown as Asked)
      return send(reply as unknown as PageReply, 429, locale, sentence(texts.later, locale))
    })
    const handle = async (
      request: Asked,
      reply: PageReply,
      save: (userId: number) => Promise<readonly CellState[]>,
      isSaved: boolean,
    ) => {
      const locale = localeOf(request)
      const token = String(request.query.token)
      const userId = await links.userOf(token)
      try {
        // A link may be older than the deletion of its user.
        if (userId === undefined || (await identity.principalOf(userId)) === undefined)
          return send(reply, 404, locale, sentence(texts.invalid, locale))
        return send(reply, 200, locale, formOf(await save(userId), terms, { locale, token, isSaved }))
      } catch (error) {
        log.error({ reason: errorReason(error), userId }, 'the preferences of a user could not be read or saved')
        return send(reply, 503, locale, sentence(texts.later, locale))
      }
    }
    app.get<Query>(preferencePagePath, async (request, reply) =>
      handle(request, reply as unknown as PageReply, (userId) => matrix.cells(userId), false),
    )
    app.post<Query>(preferencePagePath, async (request, reply) => {
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
      const on = new Set(form.getAll('on'))
      const shown = new Set(form.getAll('cell'))
      const save = async (userId: number) => {
        // A cell that was locked or removed after the page was opened is left out, as is one that stays as it is.
        const isChanged = (cell: CellState) =>
          !cell.locked && shown.has(nameOf(cell)) && cell.enabled !== on.has(nameOf(cell))
        const changed = (await matrix.cells(userId)).filter(isChanged)
        return matrix.saveCells(
          userId,
          changed.map(({ channel, category, enabled }) => ({ channel, category, enabled: !enabled })),
        )
      }
      return handle(request, reply as unknown as PageReply, save, true)
    })
  }
}

const nameOf = ({ channel, category }: Pick<CellState, 'channel' | 'category'>) => `${channel}/${category}`

const documentOf = (title: string, locale: string, nonce: string, body: string) =>
  `<!doctype html><html lang="${htmlText(locale)}"><head><meta charset="utf-8"><meta name="robots" content="noindex">` +
  `<meta name="viewport" content="width=device-width,initial-scale=1"><title>${htmlText(title)}</title>` +
  `<style nonce="${nonce}">${style}</style></head><body><main><h1>${htmlText(title)}</h1>${body}</main></body></html>`

function formOf(
  cells: readonly CellState[],
  terms: PreferenceTerms,
  { locale, token, isSaved }: { readonly locale: string; readonly token: string; readonly isSaved: boolean },
): string {
  const t = (text: LocalizedText) => htmlText(localize(text, locale))
  const byName = new Map(cells.map((cell) => [nameOf(cell), cell]))
  const channels = terms.channels()
  const heads = channels.map(({ title }) => `<th scope="col">${t(title)}</th>`).join('')
  const rows = terms.all().map((category) => {
    const inputs = channels.map((channel) => {
      const cell = byName.get(nameOf({ channel: channel.code, category: category.code }))
      if (cell === undefined) return '<td></td>'
      const name = htmlText(nameOf(cell))
      const state = `${cell.enabled ? ' checked' : ''}${cell.locked ? ' disabled' : ''}`
      const shown = cell.locked ? '' : `<input type="hidden" name="cell" value="${name}">`
      const label = `${t(category.title)}: ${t(channel.title)}`
      return `<td>${shown}<label><input type="checkbox" name="on" value="${name}" aria-label="${label}"${state}></label></td>`
    })
    return `<tr><th scope="row">${t(category.title)}</th>${inputs.join('')}</tr>`
  })
  const other = locale.startsWith('zh') ? 'en' : 'zh-CN'
  const language = `?token=${encodeURIComponent(token)}&amp;lang=${other}`
  return (
    `${isSaved ? `<p role="status">${t(texts.saved)}</p>` : ''}<p>${t(texts.lead)}</p>` +
    `<form method="post"><table><thead><tr><th scope="col">${t(texts.category)}</th>${heads}</tr></thead>` +
    `<tbody>${rows.join('')}</tbody></table><p>${t(texts.fixed)}</p>` +
    `<button type="submit">${t(texts.save)}</button></form>` +
    `<p><a href="${language}" lang="${other}">${t(texts.language)}</a></p>`
  )
}
