/** Sends to users with a language of their own, while the preferences cannot be read. */
import { onSqlite } from '@plinth/dev/testing/database'
import { notificationPreferences } from '@plinth/inbox'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { channel } from './fixtures/channel.ts'
import { startSendLog } from './fixtures/send-log-product.ts'

const down = async () => {
  throw new Error('The database is down')
}

onSqlite(t, 'preferences that cannot be read are a result on each channel', async (t, at) => {
  const preferences = definePlugin({
    id: 'test.preferences',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [notificationPreferences],
    setup: ({ provide }) =>
      provide(notificationPreferences, {
        wanted: down,
        readerFormats: down,
        quietUntil: async () => new Map(),
        switchOff: async () => {},
      }),
  })
  const [mail, post] = [channel('mail', ['user']), channel('post', ['user'])]
  const { facade } = await startSendLog(t, at, { plugins: [preferences, mail.plugin, post.plugin] })
  const recipients = [{ kind: 'user', userId: 7 }] as const
  const results = await facade.send({ subject: 'messages.due', recipients }, { channels: ['mail', 'post'] })
  t.strictSame(
    results.map(({ channel, outcome, errorCode }) => [channel, outcome, errorCode]),
    ['mail', 'post'].map((code) => [code, 'deferred', 'notification.preparation-failed']),
  )
  t.equal(mail.sent.length + post.sent.length, 0)
})
