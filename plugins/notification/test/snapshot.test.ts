import t from 'tap'
import { snapshotText } from '../src/send-log/snapshot.ts'

const whole = (attributes: Record<string, unknown>) => {
  const message = { id: 'm', subject: '', content: 'Hi', variables: {}, recipients: [], attributes }
  return snapshotText({ message, idempotencyKey: 'm' }, (text) => text)
}

t.test('D.58 a payload that may contain a token is not stored, in any form', async (t) => {
  for (const payload of [
    '{"text":"Hi","access_token":"4711"}',
    '{"nested":{"apiKey": "4711"}}',
    'token=4711&text=Hi',
    "{ 'device-key' : '4711' }",
    { text: 'Hi', token: '4711' },
    [{ password: '4711' }],
  ]) {
    t.equal(whole({ 'webhook.payload': payload }), null, JSON.stringify(payload))
  }
  for (const payload of ['{"text":"Hi"}', 'The token of the day is courage', { text: 'your password has changed' }]) {
    t.type(whole({ 'webhook.payload': payload }), 'string', JSON.stringify(payload))
  }
})
