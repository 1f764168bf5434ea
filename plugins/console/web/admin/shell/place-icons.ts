import {
  IconAward,
  IconBook,
  IconBox,
  IconBuilding,
  IconBuildingBank,
  IconBuildingStore,
  IconCalendar,
  IconCamera,
  IconCar,
  IconChartBar,
  IconClipboardList,
  IconClockPlay,
  IconCoins,
  IconDatabase,
  IconFile,
  IconFlag,
  IconFolder,
  IconGift,
  IconHeart,
  IconHome,
  IconLifebuoy,
  IconMail,
  IconMap,
  IconMessage,
  IconPlugConnected,
  IconReceipt,
  IconSchool,
  IconServer,
  IconSettings,
  IconShield,
  IconTag,
  IconTemplate,
  IconTicket,
  IconTool,
  IconTruck,
  IconUsers,
  IconWorld,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
import type { Place } from './places.tsx'

type Icon = ComponentType<{ readonly size: number }>

/** Icons of the groups of the product, by the id of the group. */
const productIcons: Readonly<Record<string, Icon>> = {
  orders: IconReceipt,
  points: IconCoins,
  ledger: IconBuildingBank,
  messages: IconMail,
  rules: IconTemplate,
  access: IconUsers,
  audit: IconClipboardList,
  jobs: IconClockPlay,
  integrations: IconPlugConnected,
  configuration: IconSettings,
  product: IconServer,
}

/** Icons of other groups, by the name that their plugin declares: `groupIcons` of `@plinth/admin`. */
export const namedIcons: Readonly<Record<string, Icon>> = {
  award: IconAward,
  book: IconBook,
  box: IconBox,
  building: IconBuilding,
  calendar: IconCalendar,
  camera: IconCamera,
  car: IconCar,
  chart: IconChartBar,
  database: IconDatabase,
  file: IconFile,
  flag: IconFlag,
  folder: IconFolder,
  gift: IconGift,
  globe: IconWorld,
  heart: IconHeart,
  lifebuoy: IconLifebuoy,
  map: IconMap,
  message: IconMessage,
  school: IconSchool,
  shield: IconShield,
  shop: IconBuildingStore,
  tag: IconTag,
  ticket: IconTicket,
  tool: IconTool,
  truck: IconTruck,
}

/** Returns the icon of a place. A newer server may have icons that these pages do not know. */
export const iconOf = ({ id, icon = '' }: Pick<Place, 'id' | 'icon'>): Icon =>
  productIcons[id] ?? namedIcons[icon] ?? IconHome
