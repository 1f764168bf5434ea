import { createHash } from 'node:crypto'
import t from 'tap'
import { aliyunHeaders } from '../src/drivers/aliyun.ts'
import { tencentAuthorization } from '../src/drivers/tencent.ts'
import { isTwilioSignature, twilioSignature } from '../src/drivers/twilio.ts'

const signatureOf = (authorization = '') => /Signature=([0-9a-f]+)$/.exec(authorization)?.[1]

t.test('Aliyun: the documented example, and a text message with Chinese text', async (t) => {
  const example = {
    host: 'ecs.cn-shanghai.aliyuncs.com',
    action: 'RunInstances',
    version: '2014-05-26',
    query: { RegionId: 'cn-shanghai', ImageId: 'win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd' },
    date: '2023-10-26T10:22:32Z',
    nonce: '3156853299f313e23d1673dc12e1703d',
  }
  const keys = { id: 'YourAccessKeyId', secret: 'YourAccessKeySecret' }
  const signed = aliyunHeaders(example, keys)
  t.equal(signatureOf(signed['authorization']), '06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0')
  t.match(signed['authorization'], /^ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;/)
  const message = {
    host: 'dysmsapi.aliyuncs.com',
    action: 'SendSms',
    version: '2017-05-25',
    query: {
      PhoneNumbers: '13800138000',
      SignName: '测试签名',
      TemplateCode: 'SMS_123456789',
      TemplateParam: '{"code":"123456"}',
    },
    date: '2025-01-01T00:00:00Z',
    nonce: 'nonce-0001',
  }
  t.equal(
    signatureOf(aliyunHeaders(message, { id: 'id', secret: 'testSecret' })['authorization']),
    '30a3c22c416b16b471c9403051813c9c85e66158df7e832eb51bc45618a947fe',
  )
})

t.test('Tencent Cloud: the documented example, and a text message', async (t) => {
  const example = {
    service: 'cvm',
    host: 'cvm.tencentcloudapi.com',
    body: '{"Limit": 1, "Filters": [{"Values": ["\\u672a\\u547d\\u540d"], "Name": "instance-name"}]}',
    timestamp: 1_551_113_065,
  }
  t.equal(
    signatureOf(tencentAuthorization(example, { id: 'id', key: 'Gu5t9xGARNpq86cd98joQYCN3EXAMPLE' })),
    '72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168',
  )
  const body =
    '{"PhoneNumberSet":["+8613800138000"],"SmsSdkAppId":"1400006666","SignName":"测试签名","TemplateId":"449739","TemplateParamSet":["123456"]}'
  t.equal(
    createHash('sha256').update(body).digest('hex'),
    '2ac0007be39b87fe136e2cfe7ed566e4f23900988e8bb09783fa57d55643bf64',
  )
  const message = {
    service: 'sms',
    host: 'sms.tencentcloudapi.com',
    action: 'SendSms',
    body,
    timestamp: 1_735_689_600,
  }
  t.equal(
    signatureOf(tencentAuthorization(message, { id: 'id', key: 'testKey' })),
    '3d61bf655f4529d970a34e8039bda824b4bec44e607b95c968d27d421b4423c1',
  )
})

t.test('Twilio: the documented example; a changed value or another length is rejected', async (t) => {
  const params = {
    CallSid: 'CA1234567890ABCDE',
    Caller: '+14158675309',
    Digits: '1234',
    From: '+14158675309',
    To: '+18005551212',
  }
  const expected = twilioSignature('12345', 'https://mycompany.com/myapp.php?foo=1&bar=2', params)
  t.equal(expected, 'RSOYDt4T1cUTdK1PDd93/VVr8B8=')
  t.equal(isTwilioSignature('RSOYDt4T1cUTdK1PDd93/VVr8B8=', expected), true)
  t.equal(isTwilioSignature('RSOYDt4T1cUTdK1PDd93/VVr8B9=', expected), false)
  t.equal(isTwilioSignature('', expected), false)
})
