// SPDX-License-Identifier: GPL-2.0
#include "absent.hh"

#include <sys/utsname.h>

#include <filesystem>
#include <fstream>

#include "../common/line.hh"

namespace fs = std::filesystem;

namespace {

const char *const dkms_folder = "/var/lib/dkms/rdma_char";

// The module's file, as depmod has it; empty: there is none.
fs::path module_file(const std::string &release)
{
	fs::path folder = "/lib/modules/" + release;
	std::ifstream in(folder / "modules.dep");
	std::string line;

	while (std::getline(in, line)) {
		std::string file = line.substr(0, line.find(':'));

		if (file.find("/rdma_char.ko") != std::string::npos)
			return folder / file;
	}
	return {};
}

// Documentation/admin-guide/module-signing.rst in the kernel. Compressed files are not looked into.
bool is_unsigned(const fs::path &file)
{
	const std::string mark = "~Module signature appended~\n";
	std::error_code error;
	auto size = static_cast<std::streamoff>(fs::file_size(file, error));

	if (error || file.extension() != ".ko" || size < static_cast<std::streamoff>(mark.size()))
		return false;
	std::ifstream in(file, std::ios::binary);
	std::string end(mark.size(), '\0');

	in.seekg(size - static_cast<std::streamoff>(mark.size()));
	in.read(end.data(), static_cast<std::streamsize>(end.size()));
	return in && end != mark;
}

// Lockdown, which Secure Boot turns on, refuses modules without a signature too.
bool wants_signatures()
{
	std::string lockdown = first_line("/sys/kernel/security/lockdown");

	return first_line("/sys/module/module/parameters/sig_enforce") == "Y" ||
	       lockdown.find("[integrity]") != std::string::npos ||
	       lockdown.find("[confidentiality]") != std::string::npos;
}

// The log of the newest build that DKMS tried; empty: it tried none.
std::string build_log()
{
	std::error_code error;
	fs::path newest;

	for (const fs::directory_entry &entry : fs::directory_iterator(dkms_folder, error)) {
		fs::path log = entry.path() / "build/make.log";

		if (fs::exists(log, error) &&
		    (newest.empty() || fs::last_write_time(log) > fs::last_write_time(newest)))
			newest = log;
	}
	return newest;
}

Absence why_not_built(const std::string &release)
{
	std::error_code error;
	std::string text = "rdma_char is not built for kernel " + release;

	if (!fs::exists("/lib/modules/" + release + "/build/Makefile", error))
		return {text + ": the kernel's headers are not installed",
			"install linux-headers-" + release + ", then 'dkms autoinstall'"};
	if (!fs::exists(dkms_folder, error))
		return {text + ", and DKMS does not have it",
			"install rdma-char-dkms, or, from the source, 'make module tools install'"};
	std::string log = build_log();

	if (!log.empty())
		return {text + ": the build failed", log};
	return {text + ", but DKMS could build it", "dkms autoinstall"};
}

}  // namespace

Absence why_absent()
{
	utsname kernel{};

	uname(&kernel);
	fs::path file = module_file(kernel.release);

	if (file.empty())
		return why_not_built(kernel.release);
	if (wants_signatures() && is_unsigned(file))
		return {"rdma_char has no signature, and this kernel loads no module without one",
			"sign it with an enrolled key: 'mokutil --import', dkms(8), 'MODULE SIGNING'"};
	if (wants_signatures())
		return {"rdma_char is signed, and not loaded",
			"modprobe rdma_char; if the key is rejected, 'mokutil --import' it and "
			"reboot"};
	return {"rdma_char is not loaded", "modprobe rdma_char"};
}
