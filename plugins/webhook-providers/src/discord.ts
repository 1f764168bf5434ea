import { createResponseJudge, valueAtPath, webhookProviderPlugin } from '@plinth/notification-channels/webhook'
import { closeCode, joinSubjectAndContent, discord as plain } from './plain-texts.ts'

/** Flag SUPPRESS_EMBEDS: Discord shows no previews of URLs, because users may have written them. */
const withoutPreviews = 4

/** Webhook of Discord. The secret is `<id>/<token>`. Messages never notify the users that they mention. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.discord', version: '1.0.0' },
  {
    code: 'discord',
    displayName: { en: 'Discord', 'zh-CN': 'Discord' },
    endpoint: 'https://discord.com/api/webhooks/',
    knownHosts: ['discord.com', 'discordapp.com'],
    secret: { use: 'token', into: 'path' },
    attributes: {
      // Required by a forum, unless the URL contains a `thread_id`.
      'thread-name': { title: { en: 'Thread of a forum', 'zh-CN': '论坛主题名称' }, member: 'thread_name' },
    },
    messageTypes: {
      text: {
        body: ({ subject, content }) => ({
          content: joinSubjectAndContent(subject === '' ? '' : `**${subject}**`, content),
          allowed_mentions: { parse: [] },
          flags: withoutPreviews,
        }),
        plain,
        limit: { max: 2000, unit: 'characters', member: 'content' },
      },
      markdown: {
        body: ({ subject, content }) => {
          const embed = { ...(subject === '' ? {} : { title: subject }), description: closeCode(content) }
          return { embeds: [embed], allowed_mentions: { parse: [] } }
        },
        plain,
        subjectLimit: { max: 256, unit: 'characters', member: 'embeds.0.title' },
        limit: { max: 4096, unit: 'characters', member: 'embeds.0.description' },
      },
    },
    rateLimits: [{ max: 5, windowMs: 2000 }],
    // Removes the parameter `wait`, because with it Discord responds with status 200 and the message instead of 204.
    address: ({ endpoint }) => {
      endpoint.searchParams.delete('wait')
      return { url: endpoint, headers: {} }
    },
    verify: {
      // "Get Webhook with Token": a GET request to the same URL.
      address: ({ endpoint }) => {
        endpoint.search = ''
        return { url: endpoint, headers: {} }
      },
      accepts: ({ status, json }) => status === 200 && valueAtPath(json, 'token') !== undefined,
    },
    judge: createResponseJudge({
      delivered: ({ status }) => status === 204,
      code: 'code',
      message: 'message',
      retryAfter: 'retry_after',
      codes: {
        '10015': { hint: 'token-invalid' },
        '50027': { hint: 'token-invalid' },
        '50006': { hint: 'payload-invalid' },
        '50035': { hint: 'payload-invalid' },
        '40005': { hint: 'payload-too-large' },
      },
    }),
  },
)
