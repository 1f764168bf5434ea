/** Fills in the form of a message in the back office. */
import type { Page } from 'playwright-core'

/** Chooses an option of a field by typing its name. */
export async function pick(page: Page, field: string, option: string) {
  await page.getByRole('combobox', { name: field }).fill(option)
  await page.getByRole('option', { name: option }).first().click()
}

/** Sets the time at which the message is sent: on the 15th of the next month, at half past nine. */
export async function setTime(page: Page) {
  await page.getByLabel('Send at').click()
  const calendar = page.getByRole('dialog', { name: /^Send at/ })
  await calendar.getByRole('button', { name: 'Next' }).click()
  await calendar.getByRole('button', { name: /^15 / }).click()
  await calendar.locator('input').first().fill('09')
  await calendar.locator('input').nth(1).fill('30')
  await calendar.getByRole('button', { name: 'Apply' }).click()
}
