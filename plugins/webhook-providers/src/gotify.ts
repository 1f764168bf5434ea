import {
  createResponseJudge,
  isJsonObject,
  type JsonObject,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { commonMark } from './plain-texts.ts'

/** Enables Markdown, unless the sender has set other display options. */
function withMarkdown(extras: unknown): JsonObject {
  const given = isJsonObject(extras) ? extras : {}
  const display = given['client::display']
  return { ...given, 'client::display': { contentType: 'text/markdown', ...(isJsonObject(display) ? display : {}) } }
}

const contentTypeOf = ({ 'client::display': display }: JsonObject) =>
  isJsonObject(display) ? display['contentType'] : undefined

const title = (subject: string) => (subject === '' ? {} : { title: subject })

/** Push server Gotify. The secret is the token of an application. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.gotify', version: '1.0.0' },
  {
    code: 'gotify',
    displayName: { en: 'Gotify', 'zh-CN': 'Gotify' },
    knownHosts: [],
    secret: { use: 'token', into: { header: 'x-gotify-key' } },
    attributes: {
      priority: {
        title: { en: 'Priority', 'zh-CN': '优先级' },
        type: 'integer',
        minimum: 0,
        maximum: 10,
        member: 'priority',
      },
      extras: { title: { en: 'Extras', 'zh-CN': '附加信息' }, type: 'object' },
    },
    messageTypes: {
      text: {
        body: ({ written, content, attributes: { extras } }) => ({
          ...title(written.subject),
          message: content || written.subject,
          extras,
        }),
      },
      markdown: {
        body: ({ written, subject, content, attributes: { extras } }) => ({
          ...title(written.subject),
          message: content || subject,
          extras: withMarkdown(extras),
        }),
        plain: commonMark,
      },
    },
    messageTypeOf: (chosen, { extras }) => {
      const contentType = isJsonObject(extras) ? contentTypeOf(extras) : undefined
      return contentType === undefined ? chosen : contentType === 'text/markdown' ? 'markdown' : 'text'
    },
    // Moves a token from the URL to a header, because errors and logs contain URLs.
    address: ({ endpoint: url }) => {
      const token = url.searchParams.get('token')
      url.searchParams.delete('token')
      const path = url.pathname.replace(/\/+$/, '')
      url.pathname = path.endsWith('/message') ? path : `${path}/message`
      return { url, headers: token === null ? {} : { 'x-gotify-key': token } }
    },
    judge: createResponseJudge({
      delivered: () => true,
      code: 'errorCode',
      message: ['errorDescription', 'error'],
      id: 'id',
    }),
  },
)
