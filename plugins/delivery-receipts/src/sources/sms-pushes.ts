import type { ReceiptSource } from '../contract.ts'
import { chinaTimeOf, hashOf, parseEntries, referenceOf, requireSecret, textOf } from './proof.ts'

/** Reports of Alibaba Cloud SMS in China ("SmsReport"). They have no signature, so the path contains a secret. */
export const createAliyunSource = (secret: () => string): ReceiptSource => ({
  displayName: { en: 'Alibaba Cloud SMS', 'zh-CN': '阿里云短信' },
  isConfigured: () => secret() !== '',
  reports: [{ channel: 'sms', provider: 'aliyun' }],
  receive(request) {
    requireSecret(request, secret())
    const receipts = parseEntries(request.body).map((entry) => {
      const { biz_id: messageId, phone_number: number, err_code: code, out_id: own, success } = entry
      const isDelivered = success === true || success === 'true'
      return {
        // A batch has one id for all of its numbers.
        id: hashOf(messageId, number, code),
        channel: 'sms',
        provider: 'aliyun',
        messageId: textOf(messageId),
        reference: referenceOf(own),
        at: chinaTimeOf(entry['report_time']),
        detail: textOf(code),
        ...(isDelivered ? ({ state: 'delivered' } as const) : ({ state: 'bounced', bounce: 'soft' } as const)),
      }
    })
    return { receipts, response: { code: 0, msg: 'success' } }
  },
})

/** Reports of Tencent Cloud SMS. They have no signature, so the path contains a secret. */
export const createTencentSource = (secret: () => string): ReceiptSource => ({
  displayName: { en: 'Tencent Cloud SMS', 'zh-CN': '腾讯云短信' },
  isConfigured: () => secret() !== '',
  reports: [{ channel: 'sms', provider: 'tencent' }],
  receive(request) {
    requireSecret(request, secret())
    const receipts = parseEntries(request.body).map((entry) => {
      const { sid: messageId, mobile, report_status: status } = entry
      const isDelivered = status === 'SUCCESS'
      return {
        id: hashOf(messageId, mobile, status),
        channel: 'sms',
        provider: 'tencent',
        messageId: textOf(messageId),
        at: chinaTimeOf(entry['user_receive_time']),
        detail: textOf(entry['errmsg']),
        ...(isDelivered ? ({ state: 'delivered' } as const) : ({ state: 'bounced', bounce: 'soft' } as const)),
      }
    })
    return { receipts, response: { result: 0, errmsg: 'OK' } }
  },
})
