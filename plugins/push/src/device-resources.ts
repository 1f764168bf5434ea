import { pluginWith } from '@plinth/resource'
import { businessError, removeDevices, viewDevices } from './declarations.ts'
import { Device } from './entities.ts'

const common = { area: 'push', notFound: 'device-unknown', errors: businessError } as const

/** Devices of the caller. */
export const ownDevices = pluginWith().resource(
  Device.shape({ only: ['id', 'channel', 'label', 'service', 'registeredAt', 'lastSuccessAt', 'createdAt'] }),
  {
    ...common,
    path: '/api/v1/push/devices',
    list: { access: 'user', summary: 'List your push devices, newest first', where: () => ({ status: 'active' }) },
    remove: { access: 'user', summary: 'Remove one of your push devices' },
  },
)

/** Devices of users in the data scope of an operator. The filter `status` shows how many have ended, and why. */
export const devices = pluginWith().resource(Device, {
  ...common,
  path: '/api/v1/admin/push/devices',
  list: { access: viewDevices, filters: ['userId', 'channel', 'status'], range: 'registeredAt' },
  get: { access: viewDevices },
  remove: { access: removeDevices },
  page: { group: 'messages', order: 27 },
})
